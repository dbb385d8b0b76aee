/**
 * Events of the document itself. A record with one of these names is emitted as `record:<name>`, so that it cannot be
 * mistaken for an event of the gateway. (No record's name begins with `doc:`.)
 */
const OWN = new Set(['joined', 'resync', 'presence', 'closed'])

/** @param {string} event of a record @returns {string} name by which a document emits it */
export const nameOf = (event) => OWN.has(event) ? `record:${event}` : event
