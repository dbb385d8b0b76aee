import { byId } from './dom.js'
import { companionOf } from './me.js'
import { View } from './view.js'

/** From this width on, the second view is beside the first one and opens by itself. */
const WIDE = '(min-width: 64rem)'

/**
 * A second person on the same page, with a connection of their own, so that a single visitor sees what is typed arrive.
 *
 * @param {object} dependencies
 * @param {string} dependencies.guid
 * @param {import('./me.js').Me} dependencies.me the first person
 * @param {boolean} dependencies.alone never open it by itself
 * @param {() => { source: import('./token.js').TokenSource, path: string }} dependencies.options of the
 *   connection
 */
export function createSecondView ({ guid, me, alone, options }) {
  const card = byId('second')
  const opener = byId('second-open')
  const canvas = byId('second-canvas')
  const empty = canvas.innerHTML
  const wide = matchMedia(WIDE)
  /** @type {View | null} */
  let view = null

  /** @type {Promise<void>} */
  let opening = Promise.resolve()

  function open () {
    if (view === null) opening = openNow()
    return opening
  }

  async function openNow () {
    canvas.innerHTML = empty
    const companion = companionOf(me)
    const mine = view = new View({ guid, me: companion, canvas, kept: false })
    const dot = () => card.style.setProperty('--color', companion.color)
    mine.people.addEventListener('change', dot)
    dot()
    byId('second-name').textContent = companion.name
    show(true)
    await mine.open({ ...options(), onState: (state) => { byId('second-state').dataset.state = state } })
    // closed meanwhile
    if (view !== mine) mine.close()
  }

  function close () {
    view?.close()
    view = null
    show(false)
  }

  /** @param {boolean} shown */
  function show (shown) {
    card.hidden = !shown
    opener.hidden = shown
    document.body.classList.toggle('alone', !shown)
  }

  const reportFailure = (/** @type {Error} */ error) => console.warn('the second view cannot be opened:', error.message)
  opener.addEventListener('click', async () => {
    await open().catch(reportFailure)
    byId('second-title').scrollIntoView({ block: 'nearest' })
  })
  byId('second-close').addEventListener('click', () => {
    close()
    opener.focus()
  })
  // a place for it, so that nothing moves when it opens
  show(!alone && wide.matches)

  return {
    open,
    /** The open one. */
    get view () { return view },
    /** Opens it by itself if there is room, after the first view is shown. */
    begin () {
      if (alone || !wide.matches) return
      setTimeout(() => open().catch(reportFailure))
    }
  }
}
