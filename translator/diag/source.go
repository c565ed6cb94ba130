package diag

import "bytes"

// Source returns the text of a file of the directory. It returns nil if the text
// is not available; the diagnostic is then written without an excerpt.
type Source func(file string) []byte

// lines returns single lines of the files that have diagnostics. Each file is
// split once.
type lines struct {
	source Source
	files  map[string][][2]int
	text   map[string][]byte
}

func newLines(source Source) *lines {
	return &lines{source: source, files: map[string][][2]int{}, text: map[string][]byte{}}
}

// line returns a line without its line ending, or false if the file has no such line.
func (l *lines) line(file string, number int) ([]byte, bool) {
	if l.source == nil || file == "" || number < 1 {
		return nil, false
	}
	bounds, read := l.files[file]
	if !read {
		text := bytes.TrimPrefix(l.source(file), []byte("\ufeff"))
		bounds = lineBounds(text)
		l.files[file], l.text[file] = bounds, text
	}
	if number > len(bounds) {
		return nil, false
	}
	b := bounds[number-1]
	return l.text[file][b[0]:b[1]], true
}

// lineBounds returns the start and end of each line. Lines end in LF, CR LF or CR,
// as in the decoder.
func lineBounds(text []byte) [][2]int {
	var bounds [][2]int
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			continue
		}
		bounds = append(bounds, [2]int{start, i})
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		start = i + 1
	}
	if start < len(text) {
		bounds = append(bounds, [2]int{start, len(text)})
	}
	return bounds
}
