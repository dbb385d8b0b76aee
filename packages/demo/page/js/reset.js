import { byId } from './dom.js'

/** Time for the second click, ms. */
const PATIENCE = 5000

/**
 * The button that restores the document's first state for everyone, at the second click.
 *
 * @param {object} dependencies
 * @param {(event: string, data: object) => Promise<unknown>} dependencies.send
 * @param {() => string} dependencies.newId
 * @param {(problem: string) => void} dependencies.onProblem
 */
export function createReset ({ send, newId, onProblem }) {
  const button = byId('reset', HTMLButtonElement)
  const text = button.textContent ?? ''
  let timer = 0

  button.addEventListener('click', async () => {
    if (timer === 0) {
      button.textContent = 'Reset for everyone?'
      timer = setTimeout(calm, PATIENCE)
      return
    }
    calm()
    try {
      await send('sheet:reset', { id: newId() })
    } catch (error) {
      onProblem(`Not reset: ${/** @type {Error} */ (error).message}`)
    }
  })
  button.addEventListener('blur', calm)

  function calm () {
    clearTimeout(timer)
    timer = 0
    button.textContent = text
  }
}
