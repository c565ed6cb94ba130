package syntax

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unknownField matches yaml's error, which shows a Go type.
var unknownField = regexp.MustCompile(`(?s)field (\S+) not found in type .*`)

// DecodeStrict decodes a file that is not a document, such as a list of keys, into a Go value.
// An empty file leaves it as it is. An unknown field, a value of another type and a second
// YAML document are errors, which name their lines.
func DecodeStrict(content []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	err := decoder.Decode(into)
	var mistakes *yaml.TypeError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &mistakes):
		for i, text := range mistakes.Errors {
			mistakes.Errors[i] = unknownField.ReplaceAllString(text, `unknown field "$1"`)
		}
		return errors.New(strings.Join(mistakes.Errors, "; "))
	case err != nil:
		return err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("the file must have one YAML document")
	}
	return nil
}
