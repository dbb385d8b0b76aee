import { h, oncePerFrame } from './dom.js'

/**
 * A note at each cell that two people write at once: the other's text as it changes, which of both stands, and a
 * choice.
 *
 * @param {object} dependencies
 * @param {HTMLElement} dependencies.canvas around the sheet
 * @param {import('./sheet.js').Sheet} dependencies.sheet
 * @param {import('./conflicts.js').Conflicts} dependencies.conflicts
 * @param {(id: string) => { name: string, color: string } | undefined} dependencies.personOf
 * @param {(cell: string) => void} dependencies.onTake the person takes the other's text
 * @param {(cell: string) => void} dependencies.onKeep
 */
export function createConflictNotes ({ canvas, sheet, conflicts, personOf, onTake, onKeep }) {
  /** @type {Map<string, ReturnType<typeof noteOf>>} by cell; bounded by the cells */
  const notes = new Map()

  const draw = oncePerFrame(() => {
    for (const [cell, note] of notes) {
      if (conflicts.open.has(cell)) continue
      note.box.remove()
      notes.delete(cell)
      sheet.box(cell)?.classList.remove('conflict')
    }
    for (const [cell, conflict] of conflicts.open) {
      let note = notes.get(cell)
      if (note === undefined) {
        notes.set(cell, note = noteOf(cell))
        canvas.append(note.box)
        sheet.box(cell)?.classList.add('conflict')
      }
      fill(note, conflict)
      place(cell, note.box)
    }
  })
  conflicts.addEventListener('change', draw)
  canvas.parentElement?.addEventListener('scroll', () => { if (notes.size > 0) draw() }, { passive: true })

  /** @param {string} cell */
  function noteOf (cell) {
    const head = h('p', { class: 'note-head', id: `${canvas.id}-${cell}-head` })
    const theirs = h('q', {})
    const mine = h('q', {})
    const [theirsLine, mineLine] = [['theirs', theirs], ['yours', mine]].map(([label, text]) => h(
      'p',
      { class: 'note-text' },
      h('span', { class: 'label' }, /** @type {string} */ (label)),
      text,
      h('span', { class: 'stands' }, 'in the sheet')
    ))
    const take = h('button', { type: 'button', onclick: () => choose(cell, onTake) }, 'Use theirs')
    const keep = h('button', { type: 'button', class: 'primary', onclick: () => choose(cell, onKeep) }, 'Keep mine')
    const box = h(
      'div',
      { class: 'note', role: 'group', 'aria-labelledby': head.id, 'data-conflict': cell },
      head,
      theirsLine,
      mineLine,
      h('p', { class: 'note-buttons' }, take, keep)
    )
    // a click on a button must not end the edit before it is handled
    box.addEventListener('pointerdown', (event) => event.preventDefault())
    return { box, head, theirs, mine, theirsLine, mineLine }
  }

  /** @param {string} cell @param {(cell: string) => void} choice */
  function choose (cell, choice) {
    choice(cell)
    sheet.focus(cell)
  }

  /** @param {ReturnType<typeof noteOf>} note @param {import('./conflicts.js').Conflict} conflict */
  function fill (note, { mine, theirs, by, mineStands }) {
    const { name, color } = personOf(by) ?? { name: 'Another person', color: '#475569' }
    note.box.style.setProperty('--color', color)
    put(note.head, `${name} also writes here`)
    put(note.theirs, theirs === '' ? 'empty' : theirs)
    put(note.mine, mine === '' ? 'empty' : mine)
    note.mineLine.classList.toggle('standing', mineStands)
    note.theirsLine.classList.toggle('standing', !mineStands)
  }

  /** Below the cell, or above it in the lower half of the sheet. @param {string} cell @param {HTMLElement} box */
  function place (cell, box) {
    const at = sheet.box(cell)
    if (at === null) return
    const above = at.offsetTop > canvas.offsetHeight / 2
    // the sheet may be wider than the screen
    const start = canvas.parentElement?.scrollLeft ?? 0
    const end = start + (canvas.parentElement?.clientWidth ?? canvas.offsetWidth)
    box.style.left = `${Math.max(start + 4, Math.min(at.offsetLeft, end - box.offsetWidth - 4))}px`
    // above, it leaves room for the name of the person who selects the cell
    box.style.top = above ? `${at.offsetTop - box.offsetHeight - 18}px` : `${at.offsetTop + at.offsetHeight + 6}px`
  }
}

/** @param {Element} element @param {string} text */
function put (element, text) { if (element.textContent !== text) element.textContent = text }
