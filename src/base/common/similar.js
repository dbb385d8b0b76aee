/**
 * @param {string} a
 * @param {string} b
 * @returns {boolean} whether two letters at most are missing, too many or different. Short names are never similar
 */
export function isSimilar (a, b) {
  if (a.length < 6 || Math.abs(a.length - b.length) > 2) return false
  let before = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const now = [row]
    for (let column = 1; column <= b.length; column++) {
      const change = before[column - 1] + (a[row - 1] === b[column - 1] ? 0 : 1)
      now.push(Math.min(change, before[column] + 1, now[column - 1] + 1))
    }
    before = now
  }
  return before[b.length] <= 2
}
