//! Assets: when they can be added, when their objects are kept, and what a cancel discards.

scenarios! {
    include_str!("assets.txt");
    fn the_holder_adds_assets_while_it_holds_and_the_owner_at_any_time();
    fn a_lost_lease_adds_nothing();
    fn an_upload_keeps_its_lease_alive();
    fn an_object_must_be_announced_before_and_in_time();
    fn a_hard_cancel_discards_earlier_assets();
    fn a_cancel_whose_grace_is_over_discards_too();
    fn an_asset_under_a_key_is_added_once();
}
