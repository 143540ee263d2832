// The figures of a sweep: what they are called, and what they tell.
import { say } from "../lib/language.js";

/** @typedef {{ name: string, title: string, unit: string, text: string }} Figure */

/** @type {Record<string, Omit<Figure, "name">>} */
const FIGURES = {
  messages_per_entry: { title: say("Messages"), unit: say("messages per entry"), text: say("All messages between nodes.") },
  bytes_per_entry: { title: say("Bytes"), unit: say("bytes per entry"), text: say("The contents of the messages, without the envelope.") },
  multicast_per_entry: { title: say("Messages with multicast"), unit: say("messages per entry"), text: say("A message to everybody counts as one.") },
  client_delay: { title: say("Client delay"), unit: say("units of time"), text: say("From the request to the entry.") },
  client_delay_p99: { title: say("Client delay, 99th percentile"), unit: say("units of time"), text: say("99 % of the requests wait at most so long.") },
  response_time: { title: say("Response time"), unit: say("units of time"), text: say("From the request to the exit.") },
  sync_delay: { title: say("Synchronisation delay"), unit: say("units of time"), text: say("From an exit to the next entry while somebody waits.") },
  throughput: { title: say("Throughput"), unit: say("entries per unit"), text: say("How many enter in a unit of time.") },
  jain: { title: say("Jain’s index"), unit: say("index"), text: say("Of the entries of each node: 1 is even, 1/N is one node taking everything.") },
  longest_bypass: { title: say("Longest bypass"), unit: say("entries of others"), text: say("The most entries of others while one node waited.") },
  inversions: { title: say("Overtakings by happened-before"), unit: say("of the entries"), text: say("Entries that came before a request that had happened before: 0 where the order is kept.") },
  overtakings: { title: say("Overtakings by request time"), unit: say("of the entries"), text: say("Entries that came before a request that was made earlier, known or not: without a common clock nobody can keep that order.") },
  load_balance: { title: say("Load balance"), unit: say("busiest over mean"), text: say("Messages that the busiest node sends and receives over the mean of all.") },
  inside_together: { title: say("Inside together"), unit: say("entries"), text: say("How many are inside at once, on average over time.") },
  messages: { title: say("Messages of the election"), unit: say("messages"), text: say("All messages between nodes.") },
  bytes: { title: say("Bytes of the election"), unit: say("bytes"), text: say("The contents of the messages, without the envelope.") },
  time: { title: say("Time of the election"), unit: say("units of time"), text: say("From the first call until everybody knows the leader.") },
  calls: { title: say("Calls"), unit: say("calls"), text: say("How often somebody called an election.") },
  leaders: { title: say("Leaders named"), unit: say("leaders"), text: say("How many were named, in all epochs.") },
  false_suspicions: { title: say("False suspicions"), unit: say("suspicions"), text: say("How often a live node was suspected.") },
};

/** @param {string} name @returns {Figure} */
export function figureOf(name) {
  return { name, ...(FIGURES[name] ?? { title: name, unit: "", text: "" }) };
}
