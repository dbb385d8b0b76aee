import { createHook, executionAsyncResource } from 'node:async_hooks'

/**
 * Events that no world may contain, seen by Node's async hooks: work that Node does beside the world (a real timer, a
 * request to the thread pool, a handle), and what one process has begun but continues in the turn of another. The
 * latter shows objects that processes share: a promise of another one, or something that a module keeps.
 *
 * Such a run is some times slower, and its trace is the same.
 *
 * @typedef {object} Origin
 * @property {import('./sim-process.js').SimProcess | null} owner
 * @property {import('./world.js').World} world
 * @property {string} type
 * @property {Error} where
 */

/** Types of Node that run no work beside the world; those of libraries are no capitals. */
const HARMLESS = new Set(['PROMISE', 'HTTPINCOMINGMESSAGE', 'HTTPCLIENTREQUEST', 'HTTPSERVERREQUEST'])
/** Types of Node that write standard output and error. */
const OUTPUT = new Set(['TTYWRAP', 'PIPEWRAP', 'WRITEWRAP'])
/** Work that is done at once or by a thread: the latter shows when it calls back. */
const AT_ONCE_OR_LATER = /^ZLIB$|REQUEST$/
const TIMERS = new Set(['Timeout', 'Immediate'])

const kOrigin = Symbol('origin')

export class Checks {
  /** The world's own immediate is being made. */
  isOwn = false
  #world
  #hook
  /** Reported places, so that each is reported once. @type {Set<string>} */
  #known = new Set()

  /** @param {import('./world.js').World} world */
  constructor (world) {
    this.#world = world
    this.#hook = createHook({
      init: (_, type, __, resource) => this.#init(type, resource),
      before: () => this.#before()
    })
  }

  begin () { this.#hook.enable() }
  end () { this.#hook.disable() }

  /** @param {string} type @param {any} resource */
  #init (type, resource) {
    if (this.isOwn || OUTPUT.has(type)) return
    const { current: owner } = this.#world
    const origin = { owner, world: this.#world, type, where: new Error() }
    if (Object.isExtensible(resource)) resource[kOrigin] = origin
    if (TIMERS.has(type) || (/^[A-Z0-9_]+$/.test(type) && !HARMLESS.has(type) && !AT_ONCE_OR_LATER.test(type)))
      this.#report(`${nameOf(owner)} begins work beside the world: ${type}`, origin)
  }

  #before () {
    const { current } = this.#world
    /** @type {Origin | undefined} */
    const origin = /** @type {any} */ (executionAsyncResource())[kOrigin]
    if (origin === undefined) return
    const { owner, world, type } = origin
    if (world !== this.#world) {
      if (owner !== null)
        this.#report(`what ${owner.name} of an earlier world has begun continues: ${type}`, origin)
    } else if (AT_ONCE_OR_LATER.test(type) && !HARMLESS.has(type))
      this.#report(`${nameOf(owner)} began work beside the world: ${type}`, origin)
    else if (owner !== current)
      this.#report(`what ${nameOf(owner)} has begun continues in a turn of ${nameOf(current)}: ${type}`, origin)
  }

  /** @param {string} sentence @param {Origin} origin */
  #report (sentence, { where }) {
    const place = String(where.stack).split('\n').slice(1).filter((line) => !/world\/checks\.js/.test(line)).join('\n')
    if (this.#known.has(sentence + place)) return
    this.#known.add(sentence + place)
    this.#world.violation(`${sentence}\n${place}`)
  }
}

/** @param {{ name: string } | null} process */
const nameOf = (process) => process?.name ?? 'the world'
