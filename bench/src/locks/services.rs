//! All services of one run.

use std::time::Duration;

use anyhow::{Context as _, Result};
use skeptron_net::Plan;

use super::bare::{Coordinator, Echo};
use super::etcd::Etcd;
use super::ours::{Apart, ApiClient, Embedded, Way};
use super::redis::Redis;
use super::workload::{Locker, Sample, run};
use super::{Row, Service, server};

/// Those that the rows need.
pub(super) struct Services {
    echo: Echo,
    coordinator: Coordinator,
    embedded: Option<Embedded>,
    apart: Option<Apart>,
    over_tls: Option<Apart>,
    etcd: Option<Etcd>,
    redis: Option<Redis>,
}

impl Services {
    /// Starts what the rows ask for. What is not installed or does not start is noted in its rows.
    pub(super) async fn start(plan: &Plan, nodes: usize, rows: &mut [Row]) -> Result<Self> {
        let wants = |services: &[Service]| rows.iter().any(|row| services.contains(&row.service));
        let embedded = match wants(&[Service::Embedded]) {
            true => Some(Embedded::start(plan, nodes).await?),
            false => None,
        };
        let plain = [
            Service::Api,
            Service::ApiUnix,
            Service::Native,
            Service::NativeOne,
            Service::NativePool,
            Service::NativeShared,
        ];
        let apart = match wants(&plain) {
            true => Some(Apart::start(plan, nodes).await?),
            false => None,
        };
        let over_tls = match wants(&[Service::NativeTls]) {
            true => Some(Apart::start_with_tls(plan, nodes).await?),
            false => None,
        };
        let etcd = match wants(&[Service::Etcd]) {
            true => start_etcd().await,
            false => Err(String::new()),
        };
        let redis = match wants(&[Service::Redis, Service::RedisShared]) {
            true => start_redis().await,
            false => Err(String::new()),
        };
        for row in rows {
            row.absent = match row.service {
                Service::Etcd => etcd.as_ref().err().cloned(),
                Service::Redis | Service::RedisShared => redis.as_ref().err().cloned(),
                _ => None,
            };
        }
        let (echo, coordinator) = (Echo::start().await?, Coordinator::start().await?);
        let (etcd, redis) = (etcd.ok(), redis.ok());
        Ok(Services { echo, coordinator, embedded, apart, over_tls, etcd, redis })
    }

    /// Measures one row once.
    pub(super) async fn sample(&self, row: &Row, span: Duration) -> Result<Sample> {
        let never = "a service is started if a row wants it";
        match row.service {
            Service::Bare => measure(row, span, async |_| self.echo.client().await).await,
            Service::Coordinator => {
                measure(row, span, async |_| self.coordinator.client().await).await
            }
            Service::Embedded => {
                let embedded = self.embedded.as_ref().context(never)?;
                measure(row, span, async |k| Ok(embedded.client(row.workload, k))).await
            }
            Service::Api | Service::ApiUnix | Service::Native | Service::NativeOne => {
                let nodes = self.apart.as_ref().context(never)?;
                let way = match row.service {
                    Service::ApiUnix => Way::HttpUnix,
                    Service::Api => Way::Http,
                    _ => Way::Native,
                };
                let place = |k| if row.service == Service::NativeOne { 0 } else { k };
                measure(row, span, async |k| nodes.client(way, place(k)).await).await
            }
            Service::NativePool => {
                let nodes = self.apart.as_ref().context(never)?;
                measure(row, span, async |k| Ok(ApiClient::from(nodes.pool(k)))).await
            }
            Service::NativeShared => {
                let shared = self.apart.as_ref().context(never)?.pool(0);
                let client = |k| ApiClient::from(shared.another(&format!("bench {k}")));
                measure(row, span, async |k| Ok(client(k))).await
            }
            Service::NativeTls => {
                let nodes = self.over_tls.as_ref().context(never)?;
                measure(row, span, async |k| nodes.client(Way::Native, k).await).await
            }
            Service::Etcd => {
                let etcd = self.etcd.as_ref().context(never)?;
                measure(row, span, async |k| etcd.client(k).await).await
            }
            Service::Redis => {
                let redis = self.redis.as_ref().context(never)?;
                measure(row, span, async |k| redis.client(k).await).await
            }
            Service::RedisShared => {
                let shared = self.redis.as_ref().context(never)?.client(0).await?;
                measure(row, span, async |k| Ok(shared.another(k))).await
            }
        }
    }

    /// Messages between nodes so far, where they can be counted.
    pub(super) fn messages(&self, service: Service) -> Option<u64> {
        let embedded = self.embedded.as_ref().filter(|_| service == Service::Embedded)?;
        Some(embedded.messages())
    }

    pub(super) async fn stop(self) {
        if let Some(nodes) = self.embedded {
            nodes.stop().await;
        }
    }
}

async fn measure<L: Locker>(
    row: &Row,
    span: Duration,
    client: impl AsyncFn(usize) -> Result<L>,
) -> Result<Sample> {
    let mut lockers = Vec::new();
    for number in 0..row.workload.clients() {
        lockers.push(client(number).await?);
    }
    run(lockers, row.workload, &row.names, &row.judge, span).await
}

pub(crate) async fn start_etcd() -> Result<Etcd, String> {
    let program = server::find("etcd").ok_or("not installed: apt-get install etcd-server")?;
    Etcd::start(&program).await.map_err(|error| format!("{error:#}"))
}

async fn start_redis() -> Result<Redis, String> {
    let program =
        server::find("redis-server").ok_or("not installed: apt-get install redis-server")?;
    Redis::start(&program).await.map_err(|error| format!("{error:#}"))
}
