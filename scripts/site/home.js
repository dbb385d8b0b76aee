import { addressOf } from './links.js'

/** Pages that the cards of the home page name. */
const SHOWN = 4

/**
 * The home page: docs/README.md below a title and a card for each group.
 * @param {import('./groups.js').Group[]} groups
 */
export function homePage (groups) {
  const first = groups.find(({ title }) => title === 'Tutorials')?.sections[0].pages[0]
  return {
    title: 'inkcast docs',
    titleTemplate: false,
    frontmatter: {
      layout: 'home',
      hero: {
        name: 'inkcast',
        text: 'Real-time document gateway',
        tagline: 'What your services publish about a document reaches everyone who has it open: at once, in order, with nothing missing.',
        actions: [
          first && { theme: 'brand', text: first.title, link: addressOf(first.path) },
          { theme: first ? 'alt' : 'brand', text: 'Concepts', link: addressOf('docs/concepts.md') },
          { theme: 'alt', text: 'Client', link: addressOf('docs/client.md') },
          { theme: 'alt', text: 'Settings', link: addressOf('docs/configuration.md') }
        ].filter(Boolean)
      },
      features: groups.map(({ title, purpose, sections }) => ({
        title,
        details: `${purpose} ${sections.flatMap(({ pages }) => pages).slice(0, SHOWN).map((page) => page.title).join(', ')} …`,
        link: `#${title.toLowerCase().replaceAll(' ', '-')}`
      }))
    }
  }
}
