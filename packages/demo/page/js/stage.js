import { byId, oncePerFrame, withPauses } from './dom.js'
import { SLIDES } from './slides.js'

/** Time after which an idle laser point disappears, ms. */
const LASER_STAYS = 1500
/** Delay between two signals of the laser, ms. */
const LASER_PAUSE = 33

/**
 * Presenting and following. A presenter's slide is in the presence state: new clients see it at once, and when the
 * presenter's connection ends permanently, so does the presentation. The laser is a signal.
 *
 * @param {object} dependencies
 * @param {import('./model.js').Model} dependencies.model
 * @param {import('./people.js').People} dependencies.people
 * @param {(presenting: { slide: number } | undefined) => void} dependencies.tell
 * @param {(event: string, data: object) => boolean} dependencies.signal
 */
export function createStage ({ model, people, tell, signal }) {
  const dialog = byId('stage', HTMLDialogElement)
  const screen = byId('slide')
  const laser = byId('laser')
  /**
   * The role of this page; null: neither presenting nor following.
   * @type {{ role: 'presenter' } | { role: 'follower', connection: string } | null}
   */
  let role = null
  let slide = 0
  /** Index of the shown slide. @type {number | null} */
  let drawn = null
  let laserTimer = 0

  const draw = oncePerFrame(() => {
    if (role === null) return
    const next = SLIDES[slide]({ model, people })
    if (slide !== drawn) next.classList.add('arriving')
    // unchanged text must not be read aloud again
    else if (screen.firstElementChild?.textContent === next.textContent) return
    drawn = slide
    screen.replaceChildren(next)
    byId('slide-number').textContent = `${slide + 1} / ${SLIDES.length}`
    byId('previous', HTMLButtonElement).disabled = slide === 0
    byId('next', HTMLButtonElement).disabled = slide === SLIDES.length - 1
  })

  /** @typedef {import('./people.js').Person & { presenting: { slide: number } }} Presenter */
  /** @param {import('./people.js').Person | undefined} person @returns {person is Presenter} */
  const presents = (person) => person?.presenting !== undefined
  const presenter = () => people.others().find(presents)

  /** @param {number} number */
  function show (number) {
    slide = Math.min(SLIDES.length - 1, Math.max(0, number))
    draw()
    if (role?.role === 'presenter') tell({ slide })
  }

  /** @param {NonNullable<typeof role>} next @param {string} title */
  function open (next, title) {
    role = next
    dialog.dataset.role = next.role
    byId('stage-title').textContent = title
    byId('stop').textContent = next.role === 'presenter' ? 'Stop presenting' : 'Leave'
    dialog.showModal()
    draw()
    offer()
  }

  function close () {
    if (role === null) return
    if (role.role === 'presenter') tell(undefined)
    role = null
    dialog.close()
    drawn = null
    screen.replaceChildren()
    offer()
  }

  /** Offers to follow a presentation that this page does not show. */
  function offer () {
    const person = presenter()
    const banner = byId('presenting')
    banner.hidden = person === undefined || role !== null
    if (person === undefined) return
    byId('presenting-text').textContent = `${person.name} is presenting.`
  }

  byId('present').addEventListener('click', () => {
    open({ role: 'presenter' }, 'You are presenting')
    show(0)
  })
  byId('follow').addEventListener('click', () => {
    const person = presenter()
    if (person === undefined) return
    slide = person.presenting.slide
    open({ role: 'follower', connection: person.connection }, `${person.name} is presenting`)
    show(slide)
  })
  byId('stop').addEventListener('click', close)
  byId('previous').addEventListener('click', () => show(slide - 1))
  byId('next').addEventListener('click', () => show(slide + 1))
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault()
    close()
  })
  dialog.addEventListener('keydown', ({ key }) => {
    if (role?.role !== 'presenter') return
    if (key === 'ArrowRight' || key === 'PageDown') show(slide + 1)
    if (key === 'ArrowLeft' || key === 'PageUp') show(slide - 1)
  })
  const point = withPauses((x, y) => signal('laser', { x, y }), () => LASER_PAUSE)
  screen.addEventListener('pointermove', ({ clientX, clientY }) => {
    if (role?.role !== 'presenter') return
    const { left, top, width, height } = screen.getBoundingClientRect()
    point(Math.round(1000 * (clientX - left) / width) / 1000, Math.round(1000 * (clientY - top) / height) / 1000)
  })

  people.addEventListener('change', () => {
    const following = role?.role === 'follower' ? people.at(role.connection) : undefined
    if (role?.role === 'follower') {
      // a presenter may reconnect with another connection id
      const now = presents(following) ? following : presenter()
      if (now === undefined) close()
      else {
        role.connection = now.connection
        if (now.presenting.slide !== slide) show(now.presenting.slide)
      }
    }
    offer()
    draw()
  })
  model.addEventListener('cells', draw)
  model.addEventListener('comments', draw)
  model.addEventListener('load', draw)

  return {
    /** @param {{ x: unknown, y: unknown }} payload @param {{ from?: string }} meta */
    onLaser ({ x, y }, { from }) {
      if (role?.role !== 'follower' || role.connection !== from || typeof x !== 'number' || typeof y !== 'number')
        return
      laser.hidden = false
      laser.style.transform = `translate(${x * screen.clientWidth}px, ${y * screen.clientHeight}px)`
      clearTimeout(laserTimer)
      laserTimer = setTimeout(() => { laser.hidden = true }, LASER_STAYS)
    }
  }
}
