/** Assumptions that were not measured: margins and the workload. */
export const ASSUMED = {
  /** of a core, so that bursts and the loss of a machine have room */
  busy: 0.5,
  /** Connections reconnect within this time after a balancer or a region has failed, s. */
  storm: 300,
  /** A worker with no connection, MB: `workerMemory()`, and a reserve. */
  workerMB: 120,
  coresPerMachine: 16,
  /** Members of a document. */
  members: 10,
  /** Redis sends each record to more workers than the two of the measurement: factor for its CPU. */
  redisCopies: 2,
  /** Masters of the smallest Redis Cluster. */
  smallestCluster: 3,
  /** Connections that one address of a balancer opens to one address and port of a gateway: docs/kernel.md. */
  ports: 64_000,
  /** Defaults of HISTORY_SIZE and HISTORY_TTL, and the bytes of a record. */
  historySize: 1000,
  historyTtl: 600,
  recordBytes: 500,
  /** Launcher, api and ingest of one machine, MB: docs/internals/decisions/0040-memory.md. */
  othersMB: { launcher: 68, api: 84, ingest: 77 }
}
