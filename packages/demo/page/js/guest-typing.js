/**
 * Types a text into a cell letter by letter. A guest that has to go finishes it at once: half a word would stay in the
 * sheet.
 *
 * @param {string} text
 * @param {object} cell
 * @param {(text: string) => Promise<unknown>} cell.put
 * @param {() => Promise<unknown>} cell.pause between two letters
 * @param {() => boolean} cell.mustGo the column is a visitor's now, or the guests leave
 * @param {() => boolean} cell.isVisitors a visitor is in the cell, and decides about its text
 */
export async function typeText (text, { put, pause, mustGo, isVisitors }) {
  for (let length = 1; length <= text.length; length++) {
    if (mustGo()) {
      const isBegun = length > 1
      if (isBegun && !isVisitors()) await put(text)
      return
    }
    await put(text.slice(0, length))
    await pause()
  }
}
