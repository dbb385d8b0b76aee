import { byId } from './dom.js'

/** Guests per click, and at most. */
const STEP = 3
const MAX = 12
/** Time in which guests finish the texts that they have begun, ms. */
const MAX_FAREWELL = 3000

/**
 * Guests who type, point and comment, each with its own connection, so that a single visitor sees something. They run
 * in a worker: they cost this page only the records that it receives.
 *
 * @param {object} settings
 * @param {string} settings.guid
 * @param {() => string | null} settings.selected the visitor's last cell
 * @param {() => { source: import('./token.js').TokenSource, path: string }} settings.options of the connections
 */
export function createGuests ({ guid, selected, options }) {
  const button = byId('guests', HTMLButtonElement)
  const leave = byId('guests-leave')
  /** @type {Worker | null} */
  let worker = null
  let count = 0

  button.addEventListener('click', () => {
    worker ??= new Worker('/js/guest-worker.js', { type: 'module' })
    count = Math.min(MAX, count + STEP)
    const { source, path } = options()
    worker.postMessage({ guid, origin: location.origin, path, source, count, cell: selected() })
    show()
  })
  leave.addEventListener('click', () => {
    const leaving = worker
    worker = null
    // it ends by itself as soon as no text is left in the middle of a word
    leaving?.postMessage({ leave: true })
    setTimeout(() => leaving?.terminate(), MAX_FAREWELL)
    count = 0
    show()
    button.focus()
  })

  function show () {
    button.textContent =
      count === 0 ? `Bring in ${STEP} guests` : count < MAX ? `${STEP} more guests` : `${count} guests are here`
    button.disabled = count >= MAX
    leave.hidden = count === 0
  }
  show()

  return {
    /** The visitor has selected a cell: guests leave its column alone. */
    onSelect () { worker?.postMessage({ cell: selected() }) }
  }
}
