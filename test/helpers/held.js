/** An incarnation that no worker has. */
const PROBE = '999999999.1'

/**
 * Whether a worker holds a user, a user in a document, or a document. Adds a probe as holder: the answer asks it to
 * report the hold only if there is no other holder. Removes the probe afterwards. For stores with services, while no
 * report is in progress.
 *
 * @param {import('../../src/people/sessions/contract.js').SessionStore} store
 * @param {{ uid?: string, guid?: string }} what
 */
export async function isHeld (store, what) {
  const [answer] = await store.hold(PROBE, [{ ...what, op: '+', told: '' }])
  await store.hold(PROBE, [{ ...what, op: '-', told: answer === '' ? '' : '0' }])
  return answer === ''
}
