/**
 * Marks of ingest without Redis, which heal nothing.
 * @returns {import('../../src/ingest/marks.js').MarkStore & import('../../src/ingest/healing.js').HealingStore}
 */
export function createMemoryMarks () {
  /** @type {Map<string, string>} */
  const marks = new Map()
  const same = (/** @type {import('../../src/ingest/healing.js').State | ''} */ state) => ({
    generation: 'same',
    state,
    mark: '',
    age: 0
  })
  return {
    read: async (sources) => sources.map((source) => marks.get(source) ?? null),
    write: async (changed) => changed.map(([source, mark]) => marks.set(source, mark) ? 1 : 0),
    heals: false,
    look: async () => same(''),
    note: async (_source, _generation, state) => same(state)
  }
}
