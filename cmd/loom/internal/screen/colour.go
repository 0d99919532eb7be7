package screen

// Colours of a status. Every status also has its word.
var shades = map[string]string{
	"running": "\x1b[36m", "completed": "\x1b[32m", "failed": "\x1b[31m", "cancelled": "\x1b[33m",
	"ok": "\x1b[32m", "warn": "\x1b[33m", "fail": "\x1b[31m",
	"open": "\x1b[36m", "retrying": "\x1b[33m", "stuck": "\x1b[31m", "abandoned": "\x1b[33m",
}

// Status returns the word in its colour, where there are colours.
func (s *Screen) Status(word string) string {
	if shade, ok := shades[word]; ok && s.Colour {
		return shade + word + "\x1b[0m"
	}
	return word
}

// Strong returns the text in bold, where there are colours.
func (s *Screen) Strong(text string) string {
	if s.Colour {
		return "\x1b[1m" + text + "\x1b[0m"
	}
	return text
}
