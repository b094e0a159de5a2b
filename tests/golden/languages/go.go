// Package store keeps things.
package store

import (
	"fmt"
	io "example.com/p/ioutil"
)

const Max = 3

var (
	// ErrX is it.
	ErrX = fmt.Errorf("x")
	y, z int
)

// Reader reads.
type Reader interface {
	io.Closer
	// Read does.
	Read(p []byte) error
}

type (
	A = int
	// Server serves.
	Server struct {
		Base
		*http.Handler
		Name, Other string
		G[int]
	}
)

// Start starts.
func (s *Server) Start(a int) error { return nil }
func (s Gen[T]) Go() {}
func Free() {}
