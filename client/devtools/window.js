import { MIN_HEIGHT, MIN_WIDTH, fit, loadPlace, savePlace } from './place.js'

/** Step of an arrow key, px; with Shift ten times as far. */
const STEP = 10
/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

/**
 * Moves and resizes an element by pointer and arrow keys, and remembers its place. On a narrow screen the stylesheet
 * fixes the left edge and the width.
 *
 * @param {HTMLElement} element fixed in the window
 * @param {{ header: HTMLElement, mover: HTMLElement, resizer: HTMLElement }} handles header: moves it by pointer, with
 *   controls inside
 */
export function createWindow (element, { header, mover, resizer }) {
  const place = loadPlace()

  function draw () {
    const { left, top, width, height } = fit(place, { width: innerWidth, height: innerHeight })
    Object.assign(element.style, {
      left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px`
    })
  }

  /** @param {number} x @param {number} y px */
  function move (x, y) {
    const { left, top, width, height } = fit(place, { width: innerWidth, height: innerHeight })
    // at the right or lower edge it stays there when the window grows
    place.left = left + x >= innerWidth - width ? null : Math.max(0, left + x)
    place.top = top + y >= innerHeight - height ? null : Math.max(0, top + y)
    draw()
  }

  /**
   * The handle is in the upper left corner: the panel starts at the lower right and grows toward the page.
   * @param {number} x @param {number} y px
   */
  function resize (x, y) {
    const { left, top, width, height } = fit(place, { width: innerWidth, height: innerHeight })
    const wider = Math.max(MIN_WIDTH, Math.min(width - x, left + width)) - width
    const higher = Math.max(MIN_HEIGHT, Math.min(height - y, top + height)) - height
    place.width = width + wider
    place.height = height + higher
    if (place.left !== null) place.left = left - wider
    if (place.top !== null) place.top = top - higher
    draw()
  }

  const stops = [follow(header, move), follow(mover, move), follow(resizer, resize)]
  addEventListener('resize', draw)
  draw()

  /**
   * @param {HTMLElement} handle
   * @param {(x: number, y: number) => void} change
   * @returns {() => void}
   */
  function follow (handle, change) {
    /** @type {{ x: number, y: number } | null} */
    let from = null
    const controller = new AbortController()
    const options = { signal: controller.signal }
    handle.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || isControl(event, handle)) return
      from = { x: event.clientX, y: event.clientY }
      handle.setPointerCapture(event.pointerId)
    }, options)
    handle.addEventListener('pointermove', ({ clientX, clientY }) => {
      if (from === null) return
      change(clientX - from.x, clientY - from.y)
      from = { x: clientX, y: clientY }
    }, options)
    const end = () => {
      if (from === null) return
      from = null
      savePlace(place)
    }
    handle.addEventListener('pointerup', end, options)
    handle.addEventListener('pointercancel', end, options)
    handle.addEventListener('keydown', (event) => {
      const arrow = ARROWS[event.key]
      if (arrow === undefined || isControl(event, handle)) return
      event.preventDefault()
      const step = event.shiftKey ? STEP * 10 : STEP
      change(arrow[0] * step, arrow[1] * step)
      savePlace(place)
    }, options)
    return () => controller.abort()
  }

  return {
    get tab () { return place.tab },
    set tab (tab) {
      place.tab = tab
      savePlace(place)
    },
    stop () {
      removeEventListener('resize', draw)
      for (const stop of stops) stop()
    }
  }
}

/** @param {Event} event @param {HTMLElement} handle @returns {boolean} whether it is for a control inside the handle */
function isControl ({ target }, handle) {
  const control = target instanceof Element ? target.closest('button, input') : null
  return control !== null && control !== handle
}
