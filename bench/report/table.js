/**
 * A Markdown table with aligned columns: numbers to the right, text to the left.
 * @param {string[]} head
 * @param {(string | number)[][]} rows
 * @returns {string}
 */
export function markdownTable (head, rows) {
  const cells = [head, ...rows.map((row) => row.map(String))]
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column].length)))
  const figures = head.map((_, column) => rows.length > 0 && rows.every((row) => /^\d/.test(String(row[column]))))
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((cell, column) => (figures[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column]))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => `${'-'.repeat(width + 1)}${figures[column] ? ':' : '-'}`).join('|')}|`
  return [line(cells[0]), rule, ...cells.slice(1).map(line)].join('\n')
}
