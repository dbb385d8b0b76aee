import { byId } from './dom.js'

const TEXT = 'I write here as well'
/** Time for the visitor to begin, and between two letters, ms. */
const HEAD_START = 1200
const PACE = 250
/** The cell that is used if the visitor has selected none. */
const USUAL = 'B7'

/**
 * The button that makes the second person write in the visitor's cell: a single visitor sees two people write in one
 * cell.
 *
 * @param {object} dependencies
 * @param {import('./view.js').View} dependencies.view
 * @param {ReturnType<typeof import('./second-view.js').createSecondView>} dependencies.second
 * @param {() => string | null} dependencies.selected
 */
export function createTogether ({ view, second, selected }) {
  const button = byId('together', HTMLButtonElement)
  const story = byId('together-story')
  const usual = story.textContent ?? ''

  button.addEventListener('click', async () => {
    const cell = selected() ?? USUAL
    button.disabled = true
    view.sheet.bringIntoView(cell)
    view.sheet.edit(cell)
    try {
      await second.open()
      const name = second.view?.me.name
      story.textContent = `Type now: ${name} writes in ${cell} as well.`
      await pause(HEAD_START)
      second.view?.signal('select', { cell })
      for (let length = 1; length <= TEXT.length; length++) {
        second.view?.type(cell, TEXT.slice(0, length))
        await pause(PACE)
      }
      second.view?.signal('select', { cell: null })
    } catch (error) {
      console.warn('the second person cannot write:', /** @type {Error} */ (error).message)
    }
    story.textContent = usual
    button.disabled = false
  })
}

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
