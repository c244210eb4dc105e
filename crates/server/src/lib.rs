//! Tenure on the network: HTTP, event streams, keys, telemetry.
