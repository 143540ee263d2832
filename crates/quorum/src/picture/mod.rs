//! Systems as pictures: SVG, and text for the terminal.
