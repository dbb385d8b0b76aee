import { arrange, byId, h, oncePerFrame } from './dom.js'

/** Maximum avatars; the others are shown as a number. */
const SHOWN = 6

/**
 * The avatars of the others. A click follows a person: their selected cell is kept in view.
 *
 * @param {{ people: import('./people.js').People }} dependencies
 */
export function createPeopleList ({ people }) {
  const list = byId('people')
  const draw = oncePerFrame(() => {
    const others = people.others()
    const shown = others.length > SHOWN ? others.slice(0, SHOWN - 1) : others
    const known = new Map(Array.from(list.children, (item) => [item.getAttribute('data-id'), item]))
    const items = shown.map((person) => {
      const item = known.get(person.id) ?? itemOf(person.id)
      dress(item.children[0], person, person.id === people.following)
      return item
    })
    if (others.length > shown.length) {
      const title = others.slice(shown.length).map(({ name }) => name).join(', ')
      items.push(h('li', {}, h('span', { class: 'avatar more', title }, `+${others.length - shown.length}`)))
    }
    arrange(list, items)
    byId('people-count').textContent = others.length === 0 ? 'only you' : `${others.length + 1} here`
  })

  /** @param {string} id */
  const itemOf = (id) => h('li', { 'data-id': id }, h(
    'button',
    { type: 'button', class: 'avatar', onclick: () => people.follow(id) },
    h('span', {}),
    h('span', { class: 'visually-hidden' })
  ))

  people.addEventListener('change', draw)
  people.addEventListener('follow', draw)
}

/** @param {any} button @param {import('./people.js').Person} person @param {boolean} followed */
function dress (button, { name, color, presenting }, followed) {
  const [shown, spoken] = button.children
  shown.textContent = initialsOf(name)
  spoken.textContent = `, ${name}: follow`
  button.style.setProperty('--color', color)
  button.title = followed ? `You follow ${name}` : `Follow ${name}`
  button.setAttribute('aria-pressed', String(followed))
  button.classList.toggle('presenting', presenting !== undefined)
}

/** @param {string} name */
const initialsOf = (name) =>
  name.trim().split(/\s+/).map((word) => [...word][0] ?? '').slice(0, 2).join('').toUpperCase()
