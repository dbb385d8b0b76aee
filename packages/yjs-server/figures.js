const COUNTERS = /** @type {const} */ ({
  updates: 'Updates of pages that are stored',
  refused: 'Updates that the hook refused',
  too_large: 'Updates that were refused because their document is full',
  wrong_records: 'Records of the log that are no updates',
  busy: 'Requests that were refused for now, because too much waits',
  closed: 'Documents that left memory for others',
  loads: 'Documents that were served',
  snapshots: 'Snapshots that were written',
  failures: 'Requests that failed, such as for a full disk'
})

/** What `/metrics` shows, in the format of Prometheus. */
export class Figures {
  #counts = new Map(Object.keys(COUNTERS).map((name) => [name, 0]))
  #gauges

  /** @param {() => { open: number, bytes: number }} gauges documents in memory, and the bytes of their files */
  constructor (gauges) { this.#gauges = gauges }

  /** @param {keyof typeof COUNTERS} name @param {number} [number] */
  count (name, number = 1) { this.#counts.set(name, (this.#counts.get(name) ?? 0) + number) }

  toString () {
    const { open, bytes } = this.#gauges()
    const lines = Object.entries(COUNTERS).flatMap(([name, help]) => {
      const full = `inkcast_yjs_${name}_total`
      return [`# HELP ${full} ${help}`, `# TYPE ${full} counter`, `${full} ${this.#counts.get(name)}`]
    })
    return [
      ...lines,
      '# TYPE inkcast_yjs_open_documents gauge', `inkcast_yjs_open_documents ${open}`,
      '# TYPE inkcast_yjs_open_bytes gauge', `inkcast_yjs_open_bytes ${bytes}`, ''
    ].join('\n')
  }
}
