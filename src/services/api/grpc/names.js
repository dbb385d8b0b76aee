import { HEADER } from '../../../wire/headers.js'

/** How the table of operations is named in inkcast.proto. */

/** @param {{ operation: string }} operation @returns {string} its rpc */
export const rpcOf = ({ operation }) => operation[0].toUpperCase() + operation.slice(1)

/** @type {ReadonlyMap<string, string>} */
const FIELDS = new Map(Object.entries(HEADER).map(([field, header]) => [header, field]))

/** @param {string} header @returns {string} the field of a request, in camel case */
export const fieldOfHeader = (header) => FIELDS.get(header) ?? header
