//! The connection limit. Connections on which no caller has authenticated may not take every place, and make room for new
//! ones: a caller without credentials cannot keep others out.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_service::extract::{Connection as AnyConnection, network_of};

use super::connection::Connection;

/// The share of the limit that is reserved for connections on which a caller has authenticated, and the share that one
/// client may have without it: a quarter each.
const SHARE: usize = 4;
/// A client may have this many connections without credentials, whatever the limit.
const CLIENT_MIN: usize = 8;

/// Who connects, as [`network_of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Client(IpAddr);

impl Client {
    pub(super) fn of(address: IpAddr) -> Self {
        Self(network_of(address))
    }
}

pub(super) struct Connections {
    limit: AtomicUsize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last_id: u64,
    /// Connections on which a caller has authenticated.
    authenticated: HashSet<u64>,
    /// The others by client, oldest first.
    anonymous: HashMap<Client, VecDeque<Arc<Connection>>>,
    anonymous_count: usize,
}

/// A connection's share of the limit. Requests carry it, so that a WebSocket counts for as long as it is open.
pub(super) struct Place {
    pub(super) connection: Arc<Connection>,
    connections: Arc<Connections>,
    is_authenticated: AtomicBool,
}

impl AnyConnection for Place {
    fn authenticated(&self) {
        if !self.is_authenticated.swap(true, Ordering::Relaxed) {
            self.connections.authenticated(&self.connection);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.ended(&self.connection);
    }
}

impl Connections {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: AtomicUsize::new(limit), table: Mutex::default() })
    }

    /// Changes the limit. Connections beyond a lower one stay open until they end or make room.
    pub(super) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection, or `None` if there is none. May close one that waits and has not authenticated.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let client = Client::of(address);
        let mut table = self.table();
        let limit = self.limit.load(Ordering::Relaxed);
        let client_max = (limit / SHARE).max(CLIENT_MIN);
        if table.of(client) >= client_max && !table.close_oldest_of(client) {
            return None;
        }
        let is_full = table.authenticated.len() + table.anonymous_count >= limit;
        let anonymous_max = limit - limit / SHARE;
        if (is_full || table.anonymous_count >= anonymous_max) && !table.close_oldest() {
            return None;
        }
        table.last_id += 1;
        let connection = Arc::new(Connection::new(table.last_id, client));
        table.anonymous.entry(client).or_default().push_back(Arc::clone(&connection));
        table.anonymous_count += 1;
        Some(Place { connection, connections: Arc::clone(self), is_authenticated: AtomicBool::new(false) })
    }

    /// From now on the connection is not closed to make room.
    fn authenticated(&self, connection: &Connection) {
        let mut table = self.table();
        // One that was closed to make room has no place any more.
        if table.remove(connection) {
            table.authenticated.insert(connection.id);
        }
    }

    fn ended(&self, connection: &Connection) {
        let mut table = self.table();
        if !table.remove(connection) {
            table.authenticated.remove(&connection.id);
        }
    }
}

impl Table {
    fn of(&self, client: Client) -> usize {
        self.anonymous.get(&client).map_or(0, VecDeque::len)
    }

    fn remove(&mut self, connection: &Connection) -> bool {
        let found = self.anonymous.get(&connection.client);
        let index = found.and_then(|own| own.iter().position(|one| one.id == connection.id));
        index.is_some_and(|index| self.remove_at(connection.client, index).is_some())
    }

    fn remove_at(&mut self, client: Client, index: usize) -> Option<Arc<Connection>> {
        let own = self.anonymous.get_mut(&client)?;
        let removed = own.remove(index)?;
        if own.is_empty() {
            self.anonymous.remove(&client);
        }
        self.anonymous_count -= 1;
        Some(removed)
    }

    /// Closes the oldest waiting connection of the client that has most of them. False if none can be closed.
    fn close_oldest(&mut self) -> bool {
        let mut clients: Vec<_> = self.anonymous.iter().map(|(client, own)| (own.len(), *client)).collect();
        clients.sort_unstable_by(|one, other| other.cmp(one));
        clients.into_iter().any(|(_, client)| self.close_oldest_of(client))
    }

    fn close_oldest_of(&mut self, client: Client) -> bool {
        let own = self.anonymous.get(&client);
        let index = own.and_then(|own| own.iter().position(|connection| connection.is_waiting()));
        let closed = index.and_then(|index| self.remove_at(client, index));
        closed.inspect(|connection| connection.close()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_closed(place: &Place) -> bool {
        let mut closed = std::pin::pin!(place.connection.closed());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        closed.as_mut().poll(&mut context).is_ready()
    }

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn a_new_connection_takes_the_place_of_the_oldest_that_waits() {
        let connections = Connections::new(3);
        let places: Vec<_> = (0..3).map(|_| connections.admit(address(1)).unwrap()).collect();
        let request = places[0].connection.begin_request();
        let fourth = connections.admit(address(2)).expect("a waiting connection makes room");
        assert!(!is_closed(&places[0]), "a request is being processed on it");
        assert!(is_closed(&places[1]));
        assert!(!is_closed(&places[2]) && !is_closed(&fourth));
        drop(request);
    }

    #[test]
    fn a_handler_that_waits_for_the_body_makes_room_too() {
        let connections = Connections::new(1);
        let place = connections.admit(address(1)).unwrap();
        let _request = place.connection.begin_request();
        assert!(connections.admit(address(1)).is_none());
        let _wait = place.connection.wait_for_body();
        assert!(connections.admit(address(1)).is_some());
        assert!(is_closed(&place));
    }

    #[test]
    fn authenticated_connections_are_never_closed_and_leave_their_place_when_they_end() {
        let connections = Connections::new(2);
        let places: Vec<_> = (0..2).map(|_| connections.admit(address(1)).unwrap()).collect();
        places.iter().for_each(AnyConnection::authenticated);
        assert!(connections.admit(address(1)).is_none(), "nothing can be closed");
        drop(places);
        assert!(connections.admit(address(1)).is_some());
    }

    #[test]
    fn connections_without_credentials_leave_a_quarter_to_the_others() {
        let connections = Connections::new(400);
        let places: Vec<_> = (0..=255).map(|last| connections.admit(address(last)).unwrap()).collect();
        let more: Vec<_> = (0..=255).map(|last| connections.admit(address(last)).unwrap()).collect();
        assert_eq!(connections.table().anonymous_count, 300);
        assert_eq!(places.iter().chain(&more).filter(|place| is_closed(place)).count(), 512 - 300);
    }

    #[test]
    fn one_client_has_a_quarter_of_the_places_at_most() {
        let connections = Connections::new(400);
        let other = connections.admit(address(2)).unwrap();
        let places: Vec<_> = (0..150).map(|_| connections.admit(address(1)).unwrap()).collect();
        assert_eq!(places.iter().filter(|place| is_closed(place)).count(), 50);
        assert!(!is_closed(&other));
        let network = |text: &str| Client::of(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
    }
}
