/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [properties] `class`, `data-…`, `aria-…`, `role` and `for` become attributes, `on…`
 *   listeners, the others properties
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h (tag, properties = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue
    if (/^on[a-z]/.test(name)) element.addEventListener(name.slice(2), value)
    else if (/^(class|role|for|data-|aria-)/.test(name)) element.setAttribute(name, value)
    else /** @type {any} */ (element)[name] = value
  }
  element.append(...children)
  return element
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {...Node | string} children
 * @returns {SVGElement}
 */
export function svg (name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value))
  element.append(...children)
  return element
}

/**
 * @template {Element} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [type] default: any of HTML
 * @returns {T}
 * @throws {Error} if the page has no such element
 */
export function byId (id, type = /** @type {any} */ (HTMLElement)) {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`the page has no ${type.name} #${id}`)
  return element
}

/**
 * Makes a list contain these items in this order. Items in place are not touched: they would lose the focus and restart
 * their animation.
 *
 * @param {Element} list
 * @param {Element[]} items
 */
export function arrange (list, items) {
  const wanted = new Set(items)
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove()
  items.forEach((item, i) => { if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null) })
}

/**
 * Combines many changes into one drawing: calls at most once per frame.
 * @param {() => void} draw
 * @returns {() => void}
 */
export function oncePerFrame (draw) {
  let asked = false
  return () => {
    if (asked) return
    asked = true
    requestAnimationFrame(() => {
      asked = false
      draw()
    })
  }
}

/**
 * Calls at most once per pause, always with the latest arguments.
 * @template {any[]} A
 * @param {(...args: A) => void} call
 * @param {() => number} pause current pause, ms
 * @returns {(...args: A) => void}
 */
export function withPauses (call, pause) {
  /** @type {A | null} */
  let waiting = null
  let last = -Infinity
  let timer = 0
  function go () {
    timer = 0
    if (waiting === null) return
    const args = waiting
    waiting = null
    last = performance.now()
    call(...args)
  }
  return (...args) => {
    waiting = args
    if (timer !== 0) return
    const wait = last + pause() - performance.now()
    if (wait <= 0) go()
    else timer = setTimeout(go, wait)
  }
}
