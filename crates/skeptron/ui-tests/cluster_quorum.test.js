// Cluster with quorums: whom a node has asked is drawn as its quorum.
import { part, site } from "./harness.js";

const up = site("up", "--nodes", "7", "--algorithm", "maekawa");

up.test("the quorum of who waits or is inside is drawn from the messages", async (open) => {
  const page = await open("#/cluster?lock=drawn");
  await part(page, "cluster-facts").filter({ hasText: "7 nodes" }).waitFor();
  await part(page, "cluster-node").selectOption("4");
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: "P4 holds" }).waitFor();
  await part(page, "cluster-ring").locator("[data-quorum='4'] .topo-line.inside").waitFor();
  await part(page, "cluster-release").click();
  await part(page, "cluster-ring").locator("[data-quorum]").waitFor({ state: "detached" });
});
