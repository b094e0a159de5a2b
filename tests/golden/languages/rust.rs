//! Crate doc.
use std::collections::{HashMap, hash_map::Entry as E2};
use crate::base::Base;
use super::*;
/// Doc of S.
#[derive(Debug)]
pub struct S<T> { a: i32, pub b: T }
pub enum Kind { A, B(i32) }
pub trait Store: Base + fmt::Debug { 
    const N: usize;
    type Item;
    /// get
    fn get(&self) -> i32;
    fn put(&self) {} }
impl<T> Store for S<T> { fn get(&self) -> i32 { fn inner() {} 1 } }
impl S<u8> { pub const X: i32 = 1; pub fn new() -> Self { } }
impl fmt::Display for &'a S<u8> { fn f() {} }
const MAX: i32 = 3;
static Q: u8 = 1;
type Al = Vec<u8>;
union U { a: u8 }
macro_rules! mm { () => {} }
mod tests { use super::*; #[test] fn works() {} }
mod other;
async fn run() {}
extern "C" { fn cfun(); }
