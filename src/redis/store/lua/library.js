import { LuaTable } from './table.js'

/** A table with functions, which scripts cannot change. @param {Record<string, import('./table.js').Value>} values */
export function library (values) {
  const table = new LuaTable()
  for (const [name, value] of Object.entries(values)) table.set(name, value)
  table.readonly = true
  return table
}
