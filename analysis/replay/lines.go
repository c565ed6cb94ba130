package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// line is one record of a log as it is read.
type line struct {
	file   string
	number int
	text   []byte
}

// maxLine bounds one record.
const maxLine = 16 << 20

// peeked is how much of a log is looked at to recognise its form.
const peeked = 64 << 10

// readLines calls yield for each record of a log: lines of JSON, or one JSON list, plain or
// below items or decisions. The log may be compressed by gzip.
func readLines(in io.Reader, file string, yield func(line) error) error {
	reader := bufio.NewReaderSize(in, peeked)
	if magic, _ := reader.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		defer unzipped.Close()
		reader = bufio.NewReaderSize(unzipped, peeked)
	}
	head, err := reader.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if isList(head) {
		return readList(reader, file, yield)
	}
	return readJSONLines(reader, file, yield)
}

// isList reports whether a log is one JSON list, by its beginning: the members of its first
// object, as far as they are in it, are not those of a record.
func isList(head []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(head))
	first, err := decoder.Token()
	if err != nil || first != json.Delim('{') {
		return first == json.Delim('[')
	}
	found := false
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			break
		}
		name, _ := key.(string)
		if slices.Contains([]string{"user", "groups", "cluster", "request", "decision_id"}, name) {
			return false
		}
		var value json.RawMessage
		isCut := decoder.Decode(&value) != nil
		found = found || isListName(name) && isCut || isListName(name) && value[0] == '['
		if isCut {
			break
		}
	}
	return found
}

// isListName reports whether a member of an object may have its records.
func isListName(name string) bool { return name == "items" || name == "decisions" }

func readJSONLines(reader *bufio.Reader, file string, yield func(line) error) error {
	scanner := bufio.NewScanner(reader)
	scanner.Buffer(make([]byte, peeked), maxLine)
	for number := 1; scanner.Scan(); number++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		if err := yield(line{file, number, bytes.Clone(text)}); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// newlines counts the lines of what is read. Ends of lines that are not counted yet are kept;
// a decoder reads little more than it returns.
type newlines struct {
	in     io.Reader
	offset int64
	ends   []int64
	lines  int
}

// Read implements io.Reader.
func (n *newlines) Read(into []byte) (int, error) {
	read, err := n.in.Read(into)
	for i, c := range into[:read] {
		if c == '\n' {
			n.ends = append(n.ends, n.offset+int64(i))
		}
	}
	n.offset += int64(read)
	return read, err
}

// lineAt returns the line of an offset, which is not before the one asked for last.
func (n *newlines) lineAt(offset int64) int {
	before, _ := slices.BinarySearch(n.ends, offset)
	n.ends = slices.Delete(n.ends, 0, before)
	n.lines += before
	return n.lines + 1
}

// readList reads the elements of a list one by one.
func readList(reader io.Reader, file string, yield func(line) error) error {
	counted := &newlines{in: reader}
	decoder := json.NewDecoder(counted)
	failed := func(err error) error {
		return fmt.Errorf("read %s:%d: %w", file, counted.lineAt(decoder.InputOffset()), err)
	}
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return failed(err)
		}
		if token == json.Delim('[') {
			break
		}
		if token == json.Delim('{') {
			if depth++; depth > 1 {
				return failed(errors.New("no list of records found"))
			}
			continue
		}
		if key, ok := token.(string); ok && !isListName(key) {
			var other json.RawMessage
			if err := decoder.Decode(&other); err != nil {
				return failed(err)
			}
		}
	}
	for decoder.More() {
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return failed(err)
		}
		start := decoder.InputOffset() - int64(len(text))
		if err := yield(line{file, counted.lineAt(start), text}); err != nil {
			return err
		}
	}
	return nil
}
