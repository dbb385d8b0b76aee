/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | boolean | undefined>} [attributes] undefined and false: none
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element (tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value)
  made.append(...children)
  return made
}

/** @param {string} id @returns {any} the element */
export function byId (id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`no element #${id}`)
  return found
}
