//! `skeptron lab`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use skeptron_net::api::{ApiConfig, ApiError, HttpServer};

use super::logs;
use super::runtime::{self, Signals};
use super::up::port;
use super::{Verdict, names};
use crate::lab::{self, Gallery, Lab, Page};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron lab                                    then open http://127.0.0.1:7480/ in a browser
  skeptron lab --port 0 --json                    for scripts: any free port, one line when ready
  skeptron lab --gallery lectures/week3           your own scenarios beside the classic ones
  skeptron lab --algorithm ./my_mutex.py          your own algorithm beside ours
  skeptron lab --ui crates/skeptron/ui            the page from a folder, to work on it
  skeptron lab --export site                      the gallery as files: open site/index.html

It answers on this machine only, needs no network, and keeps runs in memory until it ends. The page
of a running cluster is part of `skeptron up`.")]
pub(crate) struct LabArgs {
    /// The port at which the page is; 0 lets the system choose
    #[arg(long, value_name = "PORT", default_value_t = 7480)]
    #[arg(value_parser = port)]
    port: u16,
    /// When ready, write one line of JSON instead of what to try
    #[arg(long)]
    json: bool,
    /// Serve the page from this folder, read anew for every request
    #[arg(long, value_name = "DIR")]
    ui: Option<PathBuf>,
    /// Write the whole gallery as a site that needs no server, and end: DIR/index.html, and for each run
    /// DIR/NAME.html, which plays it, and DIR/NAME.jsonl, which replays
    #[arg(long, value_name = "DIR", conflicts_with = "port")]
    export: Option<PathBuf>,
    /// Show the scenarios of this folder, too, read anew for every request
    #[arg(long, value_name = "DIR")]
    gallery: Option<PathBuf>,
    /// Offer this program, too, as an algorithm: see examples/own-algorithm; may be given several times
    #[arg(long, value_name = "PROGRAM")]
    algorithm: Vec<String>,
    /// Which logs to write: error, warn, info, debug, trace, or by module as in
    /// info,skeptron_net::api=debug
    #[arg(long, value_name = "FILTER", default_value = "error")]
    log: String,
}

/// What `--json` says when all is ready.
#[derive(Serialize)]
struct Ready<'a> {
    ready: bool,
    url: &'a str,
}

impl LabArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        logs::start(logs::filter(&self.log)?, logs::Format::Text)?;
        names::start_programs(&self.algorithm).context("--algorithm")?;
        let gallery = Gallery { page: self.page()?, own: self.own()? };
        if let Some(folder) = &self.export {
            return self.write_site(&gallery, folder, out);
        }
        runtime::on_all_cores(self.serve(gallery, out))
    }

    fn page(&self) -> Result<Page> {
        let Some(folder) = &self.ui else { return Ok(Page::Embedded) };
        ensure!(
            folder.join("index.html").is_file(),
            "--ui {}: there is no index.html; give the folder of the page",
            folder.display()
        );
        Ok(Page::Folder(folder.clone()))
    }

    fn own(&self) -> Result<Option<PathBuf>> {
        if let Some(folder) = &self.gallery {
            ensure!(
                folder.is_dir(),
                "--gallery {}: there is no such folder; give one with scenarios (.json)",
                folder.display()
            );
        }
        Ok(self.gallery.clone())
    }

    fn write_site(
        &self,
        gallery: &Gallery,
        folder: &Path,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let site = lab::standalone::site::write(gallery, folder).context("--export")?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&site)?)?;
        } else {
            writeln!(out, "{} runs, each a page of its own: open {}", site.runs, site.index)?;
        }
        Ok(Verdict::Fine)
    }

    async fn serve(self, gallery: Gallery, out: &mut impl Write) -> Result<Verdict> {
        let mut signals = Signals::listen(&Signals::ENDING)?;
        let site = self.site(gallery).await?;
        for address in site.addresses() {
            self.announce(&format!("http://{address}/"), out)?;
        }
        signals.next().await;
        Ok(Verdict::Fine)
    }

    async fn site(&self, gallery: Gallery) -> Result<HttpServer> {
        let config =
            ApiConfig { listen: vec![format!("127.0.0.1:{}", self.port)], ..ApiConfig::default() };
        match HttpServer::start(&config, lab::site(Lab { gallery, runs: true, cluster: None }))
            .await
        {
            Ok(site) => Ok(site),
            Err(ApiError::Listen { address, source }) => bail!(
                "the lab cannot answer at {address}: {source}; choose another port with --port, or \
                 let the system choose with --port 0"
            ),
            Err(error) => Err(error.into()),
        }
    }

    fn announce(&self, url: &str, out: &mut impl Write) -> Result<()> {
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&Ready { ready: true, url })?)?;
        } else {
            writeln!(
                out,
                "The lab: {url}\n\
                 Play a run and click on nodes and messages, or choose one under Scenarios; Check finds\n\
                 what breaks an algorithm and Play shows it. Ctrl-C ends the lab."
            )?;
        }
        out.flush()?;
        Ok(())
    }
}
