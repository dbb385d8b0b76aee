/** @typedef {import('../../src/wire/publication.js').Publication} Publication */

/**
 * A publication that passes every check.
 * @param {Partial<Publication>} [more] fields to override
 * @returns {Publication}
 */
export function publicationWith (more = {}) {
  return {
    operator: 'broadcast',
    guid: 'minutes',
    event: 'message',
    except: [],
    ephemeral: false,
    receipt: false,
    traceId: 'trace-1',
    timestamp: 1_700_000_000_000,
    contentType: 'application/json',
    value: Buffer.from('{"a":1}'),
    ...more
  }
}
