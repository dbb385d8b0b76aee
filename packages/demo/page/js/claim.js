/** Waiting time for another tab with the same identity to respond, ms. */
const PATIENCE = 200

/**
 * Claims identities among the tabs of this browser. Over a BroadcastChannel: Web Locks exist on pages with TLS only,
 * and phones open this page without.
 *
 * @param {Pick<BroadcastChannel, 'postMessage' | 'addEventListener'>} channel shared by all tabs
 * @param {{ patience?: number }} [settings] ms
 * @returns {(id: string) => Promise<boolean>} whether this tab has the identity from now on
 */
export function createClaim (channel, { patience = PATIENCE } = {}) {
  // decides between two tabs that claim an identity at the same time
  const [ticket] = crypto.getRandomValues(new Uint32Array(1))
  /** @type {{ id: string, sure: boolean, lost: () => void } | null} */
  let own = null

  channel.addEventListener('message', (event) => {
    const { id, from, takenFrom } = /** @type {MessageEvent} */ (event).data
    if (own === null || id !== own.id) return
    if (takenFrom === ticket) own.lost()
    else if (from !== undefined && (own.sure || ticket < from)) channel.postMessage({ id, takenFrom: from })
  })

  return (id) => new Promise((resolve) => {
    const claimed = { id, sure: false, lost: () => {
      if (claimed.sure) return
      if (own === claimed) own = null
      resolve(false)
    } }
    own = claimed
    channel.postMessage({ id, from: ticket })
    // the second one: a page that stalled first gets the messages that have arrived
    setTimeout(() => setTimeout(() => {
      claimed.sure = own === claimed
      resolve(claimed.sure)
    }, 0), patience)
  })
}
