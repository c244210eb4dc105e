//! Users: their jobs, limits and credits, and the ledger.

mod jobs;
mod limits;

use tenure_core::credit::{Account, LedgerLine, Movement};
use tenure_core::id::UserId;
use tenure_service::accounts;
use tenure_service::extract::Named;
use tenure_service::fields::message;

use crate::prelude::*;

/// Rows of a page.
const ROWS: usize = 50;

struct Accounts {
    after: Option<UserId>,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    let after = params.name("after")?;
    params.done()?;
    let own = visitor.caller.user.clone().filter(|user| visitor.caller.owns(Some(user)));
    if let Some(user) = own.filter(|_| !visitor.caller.is(Right::ReadSystem)) {
        return show(visitor, OneAccount { user, before: None }).await;
    }
    visitor.caller.may(Right::ReadSystem)?;
    show(visitor, Accounts { after }).await
}

impl Page for Accounts {
    const TAB: Tab = Tab::Accounts;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let accounts = service.store().accounts(self.after.clone(), ROWS).await?;
        let older = accounts.last().filter(|_| accounts.len() == ROWS).map(|(user, _)| user.clone());
        let recent = match self.after {
            None => jobs::by_user(service, caller).await?,
            Some(_) => Vec::new(),
        };
        let none =
            ("No accounts yet. A grant creates one:", "tenure account grant ada 100 --reason \"a gift\"");
        let columns = ["User", "#Granted", "#Reserved", "#Spent", "#Available"];
        let row = |(user, account): &(UserId, Account)| html! { tr { th scope="row" { a href=(address(user)) { (user) } } (amounts(*account)) } };
        let shown = rows(&accounts, none, "Accounts by user", &columns, row);
        Ok(html! {
            @if self.after.is_none() {
                section {
                    h2 { "Jobs" }
                    div #users { (parts.keep("users", jobs::table_of(&recent))) }
                    p.hint { "Users of the newest " (jobs::EXAMINED) " jobs. The search finds any user by its whole name." }
                }
            }
            section {
                h2 { "Credits" }
                div #accounts { (parts.keep("accounts", shown)) }
                @if let Some(last) = older { p { a href=(format!("/ui/accounts?after={}", encode(last.as_str()))) { "More" } } }
            }
        })
    }
}

fn address(user: &UserId) -> String {
    format!("/ui/accounts/{}", encode(user.as_str()))
}

/// Granted is the sum of reserved, spent and available.
fn amounts(account: Account) -> Markup {
    let Account { granted, reserved, spent } = account;
    let amounts =
        [("Granted", granted), ("Reserved", reserved), ("Spent", spent), ("Available", account.available())];
    html! { @for (name, amount) in amounts { td.number data-label=(name) { (count(amount)) } } }
}

struct OneAccount {
    user: UserId,
    before: Option<u64>,
}

pub(crate) async fn one(visitor: Visitor, Named(user): Named<UserId>, mut params: QueryParams) -> Reply {
    accounts::may_see(&visitor.caller, &user)?;
    let before = params.number("before", 0..=i64::MAX as u64)?;
    params.done()?;
    show(visitor, OneAccount { user, before }).await
}

impl Page for OneAccount {
    const TAB: Tab = Tab::Accounts;

    fn title(&self) -> Option<String> {
        Some(format!("User {}", self.user))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let account = service.store().account(self.user.clone()).await?;
        let lines =
            service.store().ledger_before(self.user.clone(), self.before.unwrap_or(u64::MAX), ROWS).await?;
        let older = lines.last().filter(|_| lines.len() == ROWS).map(|(row, _)| *row);
        let sums = html! { tr { (amounts(account)) } };
        let columns = ["#Granted", "#Reserved", "#Spent", "#Available"];
        let sums = styled_table("rows", "Credits", &columns, &sums);
        let jobs = jobs::of_user(service, caller, &self.user).await?;
        let limits = limits::of_user(service, caller, &self.user).await?;
        Ok(html! {
            section { h2 { "Jobs" } div #jobs { (parts.keep("jobs", jobs)) } }
            @if let Some(limits) = limits { section { h2 { "Limits" } div #limits { (parts.keep("limits", limits)) } } }
            section { h2 { "Credits" } div #credits { (parts.keep("credits", sums)) } (grant_form(&self.user, caller)) (erase_form(&self.user, caller)) }
            section { h2 { "Ledger, newest first" } div #ledger { (parts.keep("ledger", ledger(&lines))) } }
            @if let Some(row) = older { p { a href=(format!("{}?before={row}", address(&self.user))) { "Older" } } }
        })
    }
}

fn grant_form(user: &UserId, caller: &Caller) -> Markup {
    let lacks = Visitor::lacks(caller, Right::ManageSystem);
    html! {
        form.filters method="post" action=(format!("{}/grant", address(user))) {
            label { "Credits" input type="number" name="grant" min="1" required; }
            label { "Reason" input name="reason" required maxlength="200"; }
            button type="submit" disabled[lacks.is_some()] title=[lacks] { "Grant" }
        }
    }
}

const ERASE: &str = "Erase this user? All finished jobs are deleted now, the others when they are finished.";

fn erase_form(user: &UserId, caller: &Caller) -> Markup {
    let lacks = Visitor::lacks(caller, Right::ManageSystem);
    html! {
        details.apart {
            summary { "Irreversible actions" }
            form.filters method="post" action=(format!("{}/erase", address(user))) {
                label { "Reason" input name="reason" required maxlength="200"; }
                button.danger type="submit" disabled[lacks.is_some()] title=[lacks] data-ask=(ERASE) { "Erase user" }
            }
        }
    }
}

fn ledger(lines: &[(u64, LedgerLine)]) -> Markup {
    let row = |(_, line): &(u64, LedgerLine)| {
        html! {
            tr {
                td { (when(line.ts)) }
                td { (movement(line.kind)) }
                td.number data-label="Credits" { (count(line.amount)) }
                td { @if let Some(id) = line.job_id { (job_link(id)) } }
                td { (line.reason.as_deref().unwrap_or_default()) }
            }
        }
    };
    let columns = ["Time", "Movement", "#Credits", "Job", "Reason"];
    rows(lines, ("The ledger is empty.", ""), "Ledger, newest first", &columns, row)
}

fn movement(kind: Movement) -> &'static str {
    match kind {
        Movement::Grant => "granted",
        Movement::Reserve => "reserved",
        Movement::Settle => "spent",
        Movement::Refund => "refunded",
    }
}

pub(crate) async fn grant(visitor: Visitor, Named(user): Named<UserId>, mut form: Form) -> Reply {
    let (credits, reason) = (form.need("grant")?, form.need("reason")?);
    form.done()?;
    let credits = credits.trim().parse().map_err(|_| Problem::malformed("grant", "must be a number"))?;
    accounts::grant(&visitor.dashboard, &visitor.caller, None, &user, credits, reason).await?;
    Ok(back(&address(&user), &format!("Granted {} credits to {user}.", count(credits))))
}

pub(crate) async fn erase(visitor: Visitor, Named(user): Named<UserId>, mut form: Form) -> Reply {
    visitor.caller.may(Right::ManageSystem)?;
    let to = address(&user);
    let question = Question { tab: Tab::Accounts, text: ERASE, label: "Erase user", back: &to };
    if let Some(page) = form.ask(&visitor, question).await? {
        return Ok(page);
    }
    let reason = message("reason", Some(form.need("reason")?))?.unwrap_or_default();
    form.done()?;
    let runtime = visitor.dashboard.runtime();
    let done = runtime.erase(visitor.caller.origin(), None, user.clone(), reason).await??;
    let rest = match (done.is_complete, done.unfinished) {
        (true, _) => String::new(),
        (false, 0) => " The rest follows.".to_owned(),
        (false, left) => format!(" {} unfinished jobs are deleted at their end.", count(left)),
    };
    Ok(back(&address(&user), &format!("Deleted {} jobs of {user}.{rest}", count(done.deleted))))
}
