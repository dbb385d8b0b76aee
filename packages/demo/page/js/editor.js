import { h } from './dom.js'

const MAX_TEXT = 200

/**
 * @typedef {object} End how an edit ended
 * @property {string} [step] the arrow key that leads to the next cell
 * @property {boolean} [commit] by Enter, after something was typed
 * @property {string} [undo] by Escape: the text before the edit
 */

/**
 * The text field of the one cell that is being edited.
 *
 * @param {object} dependencies
 * @param {(cell: string) => string} dependencies.labelOf
 * @param {(cell: string, text: string) => void} dependencies.onInput for each letter
 * @param {(cell: string) => void} dependencies.onBegin
 * @param {(cell: string, how: End) => void} dependencies.onEnd
 */
export function createEditor ({ labelOf, onInput, onBegin, onEnd }) {
  const field = h('input', {
    type: 'text',
    class: 'editor',
    maxLength: MAX_TEXT,
    autocomplete: 'off',
    spellcheck: false,
    enterKeyHint: 'next'
  })
  /** @type {{ box: HTMLElement, cell: string, before: string, dirty: boolean } | null} */
  let open = null

  /** @param {End} [how] */
  function end (how = {}) {
    if (open === null) return
    const { cell, box } = open
    open = null
    const hadFocus = document.activeElement === field
    box.classList.remove('editing')
    // the focus must not get lost with the field
    if (hadFocus && how.step !== undefined) box.focus({ preventScroll: true })
    field.remove()
    onEnd(cell, how)
  }

  field.addEventListener('input', () => {
    if (open === null) return
    open.dirty = true
    onInput(open.cell, field.value)
  })
  // focusout, not blur: the sheet gets it as well, although the field is gone by then
  field.addEventListener('focusout', () => {
    // another window has the focus: this one goes on later
    if (document.activeElement !== field) end()
  })
  field.addEventListener('keydown', (event) => {
    if (open === null || event.isComposing) return
    const step = {
      Enter: event.shiftKey ? 'ArrowUp' : 'ArrowDown',
      Tab: event.shiftKey ? 'ArrowLeft' : 'ArrowRight',
      ArrowUp: 'ArrowUp',
      ArrowDown: 'ArrowDown',
      Escape: 'none'
    }[event.key]
    if (step === undefined) return
    event.preventDefault()
    event.stopPropagation()
    const undo = event.key === 'Escape' && open.dirty ? { undo: open.before } : {}
    end({ step, commit: event.key === 'Enter' && open.dirty, ...undo })
  })

  return {
    /**
     * @param {HTMLElement} box
     * @param {string} cell
     * @param {{ before: string, text?: string, typed?: boolean }} texts `typed`: the text is new, as if it was typed
     */
    begin (box, cell, { before, text = before, typed = false }) {
      end()
      open = { box, cell, before, dirty: typed }
      field.setAttribute('aria-label', labelOf(cell))
      field.value = text
      box.append(field)
      box.classList.add('editing')
      field.focus({ preventScroll: true })
      field.setSelectionRange(text.length, text.length)
      onBegin(cell)
      if (typed) onInput(cell, text)
    },
    /** @param {string} cell */
    end (cell) { if (open?.cell === cell) end({ step: 'none' }) },
    /**
     * The text of a cell has changed. A field in which its person has typed is left alone.
     * @param {string} cell
     * @param {string} text
     */
    changed (cell, text) {
      if (open?.cell !== cell || open.dirty || field.value === text || field.value === '') return
      open.before = text
      field.value = text
    },
    /** @param {EventTarget | null} target */
    holds: (target) => target === field
  }
}
