package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
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

var listForm = regexp.MustCompile(`"(?:items|decisions)"\s*:\s*\[`)

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

// isList reports whether a log is one JSON list, by its beginning.
func isList(head []byte) bool {
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] == '[' {
		return len(trimmed) > 0
	}
	first, _, whole := bytes.Cut(trimmed, []byte("\n"))
	if whole && json.Valid(first) {
		var object map[string]json.RawMessage
		if json.Unmarshal(first, &object) != nil {
			return false
		}
		for _, key := range []string{"items", "decisions"} {
			if list := object[key]; len(list) > 0 && list[0] == '[' && object["cluster"] == nil && object["user"] == nil {
				return true
			}
		}
		return false
	}
	return listForm.Match(trimmed) && trimmed[0] == '{'
}

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

// readList reads the elements of a list one by one.
func readList(reader io.Reader, file string, yield func(line) error) error {
	decoder := json.NewDecoder(reader)
	failed := func(err error) error { return fmt.Errorf("read %s: %w", file, err) }
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
		if key, ok := token.(string); ok && key != "items" && key != "decisions" {
			var other json.RawMessage
			if err := decoder.Decode(&other); err != nil {
				return failed(err)
			}
		}
	}
	for number := 1; decoder.More(); number++ {
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return failed(err)
		}
		if err := yield(line{file, number, text}); err != nil {
			return err
		}
	}
	return nil
}
