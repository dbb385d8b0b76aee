/**
 * Reads as much of an OCSP response as a server that staples it needs (RFC 6960, 4.2.1).
 */

/** OCSPResponse: SEQUENCE, then responseStatus ENUMERATED successful (0). */
const SUCCESSFUL = /^\x30(?:[\x00-\x7f]|\x81.|\x82..|\x83...)\x0a\x01\x00/s // eslint-disable-line no-control-regex
/** `nextUpdate [0] EXPLICIT GeneralizedTime` of a SingleResponse. */
// eslint-disable-next-line no-control-regex
const NEXT_UPDATE = /\xa0\x11\x18\x0f(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z/

/**
 * @param {Buffer} der
 * @returns {number} ms since 1970 until which clients accept it; Infinity: it names no end; NaN: no successful response
 */
export function nextUpdateOf (der) {
  const bytes = der.toString('latin1')
  if (!SUCCESSFUL.test(bytes)) return NaN
  const [, year, month, day, hour, minute, second] = NEXT_UPDATE.exec(bytes) ?? []
  return year === undefined ? Infinity : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
