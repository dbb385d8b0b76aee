import { connect } from 'inkcast-client'

const client = connect(new URLSearchParams(location.search).get('gateway') ?? 'http://localhost:3000')
const status = document.querySelector('[role=status]')
client.on('state', (state, reason) => { status.textContent = reason === null ? state : `${state}: ${reason.message}` })

/** By sensor. @type {Map<string, HTMLTableRowElement>} */
const rows = new Map()
const doc = await client.open('greenhouse')
doc.on('reading', ({ sensor, celsius }, { ts }) => {
  let row = rows.get(sensor)
  if (row === undefined) {
    row = document.querySelector('tbody').insertRow()
    for (let i = 0; i < 3; i++) row.insertCell()
    rows.set(sensor, row)
  }
  const cells = [sensor, celsius.toFixed(1), new Date(ts).toLocaleTimeString()]
  cells.forEach((text, i) => { row.cells[i].textContent = text })
})
