/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [properties] `on…` become listeners, `class`, `role`, `for`, `tabindex`, `data-…` and
 *   `aria-…` attributes, the others properties
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h (tag, properties = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (/^on[a-z]/.test(name)) element.addEventListener(name.slice(2), value)
    else if (/^(class$|role$|for$|tabindex$|data-|aria-)/.test(name)) element.setAttribute(name, value)
    else /** @type {any} */ (element)[name] = value
  }
  element.append(...children)
  return element
}

/** Writes a text only if it has changed, so that a selection survives. @param {Element} element @param {string} text */
export function setText (element, text) {
  if (element.textContent !== text) element.textContent = text
}

/**
 * A list whose elements stay the same while their items do: they keep focus, selection and place.
 *
 * @template Item
 * @template {HTMLElement} E
 * @param {HTMLElement} container
 * @param {object} options
 * @param {(item: Item) => unknown} options.key
 * @param {(item: Item) => E} options.create
 * @param {(element: E, item: Item) => void} [options.update] also called for a new element
 * @returns {(items: readonly Item[]) => void}
 */
export function keyedList (container, { key, create, update }) {
  /** @type {Map<unknown, E>} */
  const elements = new Map()
  return (items) => {
    const keys = new Set(items.map(key))
    for (const [known, element] of elements) {
      if (keys.has(known)) continue
      element.remove()
      elements.delete(known)
    }
    items.forEach((item, i) => {
      const itemKey = key(item)
      let element = elements.get(itemKey)
      if (element === undefined) elements.set(itemKey, element = create(item))
      update?.(element, item)
      if (container.children[i] !== element) container.insertBefore(element, container.children[i] ?? null)
    })
  }
}
