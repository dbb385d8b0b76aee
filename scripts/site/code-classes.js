/**
 * Colors of code as classes in place of `style` attributes, which the site's content security policy refuses:
 * `color:var(--code-token-keyword)` becomes the class `token-keyword`.
 * @type {import('shiki').ShikiTransformer}
 */
export const codeClasses = {
  name: 'code-classes',
  pre (node) { delete node.properties.style },
  span (node) {
    const token = /^color:\s*var\(--code-(token-[a-z-]+)\)/.exec(String(node.properties.style ?? ''))?.[1]
    delete node.properties.style
    if (token !== undefined) this.addClassToHast(node, token)
  }
}
