package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sourcegraph/jsonrpc2"
)

// maxMessage bounds a message in bytes; an editor sends a whole file when it opens it.
// maxHeader bounds what is before it.
const (
	maxMessage = 64 << 20
	maxHeader  = 8 << 10
)

// errMalformed is the error of a message that is not JSON-RPC.
var errMalformed = errors.New("malformed message")

// codec reads and writes messages with the header Content-Length.
type codec struct{ jsonrpc2.VSCodeObjectCodec }

// ReadObject reads a message. The error is errMalformed if the message is read whole and is
// not valid.
func (codec) ReadObject(in *bufio.Reader, to any) error {
	length, left := -1, maxHeader
	for {
		line, err := readLine(in, left)
		if err != nil {
			return err
		}
		left -= len(line)
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("read the header of a message: %w", err)
		}
	}
	if length < 0 || length > maxMessage {
		return fmt.Errorf("read the header of a message: Content-Length must be from 0 to %d", maxMessage)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, to); err != nil {
		return errMalformed
	}
	return nil
}

// readLine reads a line of at most so many bytes, with its end.
func readLine(in *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			return "", fmt.Errorf("read the header of a message: it is longer than %d bytes", maxHeader)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}

// stream answers malformed messages itself, so that they do not end the connection.
type stream struct{ jsonrpc2.ObjectStream }

func (s stream) ReadObject(to any) error {
	for {
		err := s.ObjectStream.ReadObject(to)
		if !errors.Is(err, errMalformed) {
			return err
		}
		response := map[string]any{"jsonrpc": "2.0", "id": nil, "error": &jsonrpc2.Error{
			Code: jsonrpc2.CodeParseError, Message: "the message is not a JSON-RPC message",
		}}
		if err := s.WriteObject(response); err != nil {
			return err
		}
	}
}
