import { byId, oncePerFrame, withPauses } from './dom.js'
import { SLIDES } from './slides.js'

/** Time after which an idle laser point disappears, ms. */
const LASER_STAYS = 1500
/** Delay between two signals of the laser, ms. */
const LASER_PAUSE = 33

/** @typedef {import('./people.js').Person & { presenting: { slide: number } }} Presenter */

/** @param {import('./people.js').Person | undefined} person @returns {person is Presenter} */
const presents = (person) => person?.presenting !== undefined

/**
 * Presenting and following. A presenter's slide is in the presence state: new clients see it at once, and when the
 * presenter's connection ends permanently, so does the presentation. The laser is a signal.
 */
export class Stage {
  /**
   * The role of this page; null: neither presenting nor following.
   * @type {{ role: 'presenter' } | { role: 'follower', connection: string } | null}
   */
  #role = null
  #slide = 0
  /** Index of the shown slide. @type {number | null} */
  #drawn = null
  #laserTimer = 0
  #dialog = byId('stage', HTMLDialogElement)
  #screen = byId('slide')
  #laser = byId('laser')
  #model
  #people
  #tell

  /**
   * @param {object} dependencies
   * @param {import('./model.js').Model} dependencies.model
   * @param {import('./people.js').People} dependencies.people
   * @param {(presenting: { slide: number } | undefined) => void} dependencies.tell
   * @param {(event: string, data: object) => boolean} dependencies.signal
   */
  constructor ({ model, people, tell, signal }) {
    this.#model = model
    this.#people = people
    this.#tell = tell
    this.#listen()
    const point = withPauses((x, y) => signal('laser', { x, y }), () => LASER_PAUSE)
    this.#screen.addEventListener('pointermove', ({ clientX, clientY }) => {
      if (this.#role?.role !== 'presenter') return
      const { left, top, width, height } = this.#screen.getBoundingClientRect()
      point(Math.round(1000 * (clientX - left) / width) / 1000, Math.round(1000 * (clientY - top) / height) / 1000)
    })
    people.addEventListener('change', () => this.#follow())
    for (const event of ['cells', 'comments', 'load']) model.addEventListener(event, this.#draw)
  }

  /** @param {{ x: unknown, y: unknown }} payload @param {{ from?: string }} meta */
  onLaser = ({ x, y }, { from }) => {
    const role = this.#role
    if (role?.role !== 'follower' || role.connection !== from || typeof x !== 'number' || typeof y !== 'number') return
    const { clientWidth, clientHeight } = this.#screen
    this.#laser.hidden = false
    this.#laser.style.transform = `translate(${x * clientWidth}px, ${y * clientHeight}px)`
    clearTimeout(this.#laserTimer)
    this.#laserTimer = setTimeout(() => { this.#laser.hidden = true }, LASER_STAYS)
  }

  #listen () {
    byId('present').addEventListener('click', () => {
      this.#open({ role: 'presenter' }, 'You are presenting')
      this.#show(0)
    })
    byId('follow').addEventListener('click', () => {
      const person = this.#presenter()
      if (person === undefined) return
      this.#slide = person.presenting.slide
      this.#open({ role: 'follower', connection: person.connection }, `${person.name} is presenting`)
      this.#show(this.#slide)
    })
    byId('stop').addEventListener('click', () => this.#close())
    byId('previous').addEventListener('click', () => this.#show(this.#slide - 1))
    byId('next').addEventListener('click', () => this.#show(this.#slide + 1))
    this.#dialog.addEventListener('cancel', (event) => {
      event.preventDefault()
      this.#close()
    })
    this.#dialog.addEventListener('keydown', ({ key }) => {
      if (this.#role?.role !== 'presenter') return
      if (key === 'ArrowRight' || key === 'PageDown') this.#show(this.#slide + 1)
      if (key === 'ArrowLeft' || key === 'PageUp') this.#show(this.#slide - 1)
    })
  }

  #presenter () { return this.#people.others().find(presents) }

  #draw = oncePerFrame(() => {
    if (this.#role === null) return
    const slide = this.#slide
    const next = SLIDES[slide]({ model: this.#model, people: this.#people })
    if (slide !== this.#drawn) next.classList.add('arriving')
    // unchanged text must not be read aloud again
    else if (this.#screen.firstElementChild?.textContent === next.textContent) return
    this.#drawn = slide
    this.#screen.replaceChildren(next)
    byId('slide-number').textContent = `${slide + 1} / ${SLIDES.length}`
    byId('previous', HTMLButtonElement).disabled = slide === 0
    byId('next', HTMLButtonElement).disabled = slide === SLIDES.length - 1
  })

  /** @param {number} number */
  #show (number) {
    this.#slide = Math.min(SLIDES.length - 1, Math.max(0, number))
    this.#draw()
    if (this.#role?.role === 'presenter') this.#tell({ slide: this.#slide })
  }

  /** @param {{ role: 'presenter' } | { role: 'follower', connection: string }} role @param {string} title */
  #open (role, title) {
    this.#role = role
    this.#dialog.dataset.role = role.role
    byId('stage-title').textContent = title
    byId('stop').textContent = role.role === 'presenter' ? 'Stop presenting' : 'Leave'
    this.#dialog.showModal()
    this.#draw()
    this.#offer()
  }

  #close () {
    if (this.#role === null) return
    if (this.#role.role === 'presenter') this.#tell(undefined)
    this.#role = null
    this.#dialog.close()
    this.#drawn = null
    this.#screen.replaceChildren()
    this.#offer()
  }

  /** Offers to follow a presentation that this page does not show. */
  #offer () {
    const person = this.#presenter()
    byId('presenting').hidden = person === undefined || this.#role !== null
    if (person !== undefined) byId('presenting-text').textContent = `${person.name} is presenting.`
  }

  #follow () {
    const role = this.#role
    if (role?.role === 'follower') {
      const following = this.#people.at(role.connection)
      // a presenter may reconnect with another connection id
      const now = presents(following) ? following : this.#presenter()
      if (now === undefined) this.#close()
      else {
        role.connection = now.connection
        if (now.presenting.slide !== this.#slide) this.#show(now.presenting.slide)
      }
    }
    this.#offer()
    this.#draw()
  }
}
