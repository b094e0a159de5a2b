"""Relations between documents: class trees and supersession."""
