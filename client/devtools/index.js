/**
 * The devtools of inkcast-client: a panel in the page that shows connection, documents and log of a client. Loaded on
 * demand, and nothing of it is in the client itself:
 *
 *   const { openDevtools } = await import('inkcast-client/devtools')
 *   openDevtools(client)
 *
 * Reference: docs/devtools.md
 */
import { clock } from '../common/clock.js'
import { interval } from '../common/interval.js'
import { Model } from './model.js'
import { createPanel } from './panel.js'

/** Time between two readings of the client, ms. */
const INTERVAL = 500
/** Shortest time between two drawings, ms. */
const PAUSE = 100

/**
 * @typedef {object} Devtools
 * @property {HTMLElement} element of the page
 * @property {() => void} close removes the panel
 */

/** @type {WeakMap<import('../client.js').Client, Devtools>} */
const opened = new WeakMap()

/**
 * Opens the panel of a client; a second call returns the one that is open.
 *
 * @param {import('../client.js').Client} client
 * @param {{ parent?: HTMLElement | undefined }} [options] parent: default `document.body`
 * @returns {Devtools}
 */
export function openDevtools (client, { parent = document.body } = {}) {
  const known = opened.get(client)
  if (known !== undefined) return known

  /** @type {import('../common/clock.js').Timer | undefined} */
  let timer
  const drawSoon = () => { timer ??= clock.timer(PAUSE, draw) }
  const model = new Model(client, drawSoon)
  const panel = createPanel(client, { read: () => model.read(), onClose: close })
  const drawing = interval.every(INTERVAL, draw)

  function draw () {
    timer?.stop()
    timer = undefined
    panel.draw(model.read())
  }

  function close () {
    if (!opened.delete(client)) return
    timer?.stop()
    drawing.stop()
    model.stop()
    panel.stop()
    panel.host.remove()
  }

  parent.append(panel.host)
  draw()
  const devtools = { element: panel.host, close }
  opened.set(client, devtools)
  return devtools
}
